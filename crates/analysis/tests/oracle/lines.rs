//! The sentences of a page: joined lines of the terminal, items of Markdown and HTML.

/// Marks before a sentence of the terminal.
const MARKS: [&str; 12] = ["▲ ", "▼ ", "· ", "> ", "< ", "= ", "? ", "! ", "- ", "✕ ", "✓ ", "~ "];

/// The sentences of a page, each on one line.
pub fn sentences(page: &str) -> Vec<String> {
    if page.trim_start().starts_with("<!") { of_html(page) } else { of_text(page) }
}

/// A sentence begins with a mark, a verdict is indented, and the lines after the first one are indented too.
fn of_text(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_verdict = false;
    let mut is_open = false;
    for line in page.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let mark = MARKS.iter().find_map(|mark| text.strip_prefix(mark)).filter(|_| indent == 0);
        if let Some(verdict) = text.strip_prefix("VERDICT ").or_else(|| text.strip_prefix("**Verdict:** ")) {
            found.push(verdict.trim_start().to_owned());
            (is_verdict, is_open) = (true, true);
        } else if let Some(sentence) = mark {
            found.push(sentence.to_owned());
            (is_verdict, is_open) = (false, true);
        } else if text.is_empty() || indent == 0 {
            (is_verdict, is_open) = (false, false);
        } else if is_verdict && found.last().is_some_and(|verdict| verdict.ends_with(')')) {
            found.push(text.to_owned());
        } else if let Some(last) = found.last_mut().filter(|_| is_open) {
            *last = format!("{last} {text}");
        }
    }
    found.iter().map(|text| text.replace('\\', "")).collect()
}

/// The text of each element that is a block; scripts, styles and drawings have no sentences.
fn of_html(page: &str) -> Vec<String> {
    const BLOCKS: [&str; 12] = ["p", "/p", "li", "/li", "td", "/td", "div", "/div", "h1", "/h1", "br", "/h2"];
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        let name = tag.split([' ', '\n']).next().unwrap_or_default();
        rest = after;
        if ["script", "style", "svg", "template"].contains(&name) {
            rest = rest.split_once(&format!("</{name}>")).map_or("", |(_, rest)| rest);
        } else if BLOCKS.contains(&name) {
            text.push('\n');
        }
    }
    let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    let plain = entities.iter().fold(text, |text, (entity, plain)| text.replace(entity, plain));
    plain.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}
