//! A page that draws every chart as an image and returns them as text, for a headless browser.

use sharebench_analysis::Analysis;

use super::document::{Document, document_text};
use crate::charts::ChartData;

const IMAGES: &str = include_str!("../../assets/images.js");

/// The text before and after the images in the document that the page leaves; between them is one line per image:
/// its name, `svg` or `png`, and its bytes in Base64.
pub const IMAGES_BETWEEN: (&str, &str) = ("<pre id=\"pictures\">", "</pre>");

/// The page. It loads nothing, and is complete when the browser reports it as loaded.
pub fn images_page(analysis: &Analysis) -> String {
    document_text(&Document { title: "sharebench charts", policy: None }, |out| {
        out.data(&ChartData(analysis))?;
        out.library()?;
        out.charts(&[IMAGES])
    })
}
