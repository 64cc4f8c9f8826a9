//! A page that draws every chart as a picture and hands them over as text, for a browser without a window.

use sharebench_analysis::Analysis;

use crate::chart_data::chart_data;
use crate::escape::json_in_script;
use crate::html::{CHARTS, ECHARTS, STYLE};

const IMAGES: &str = include_str!("../assets/images.js");

/// What stands around the pictures in the document that the page leaves behind; between them one line per picture:
/// its name, `svg` or `png`, and its bytes in Base64.
pub const IMAGES_BETWEEN: (&str, &str) = ("<pre id=\"pictures\">", "</pre>");

/// The page. It reaches nothing, and is done when it is loaded.
pub fn images_page(analysis: &Analysis) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><style>{STYLE}</style></head><body>\n\
         <script type=\"application/json\" id=\"data\">{}</script>\n<script>{ECHARTS}</script>\n\
         <script>{}{IMAGES}</script></body></html>\n",
        json_in_script(&chart_data(analysis)),
        CHARTS.concat()
    )
}
