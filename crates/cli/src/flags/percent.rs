//! Percentages on the command line.

/// `5%` or `5` as 0.05.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim_end().parse().ok();
    match number {
        Some(percent) if (0.0..100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("expected a percentage of at least 0 and below 100, such as 5%".to_owned()),
    }
}

/// A percentage above 0.
pub fn positive_percent(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|share| *share > 0.0)
        .ok_or_else(|| "expected a percentage above 0 and below 100, such as 5%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_are_read_with_and_without_sign() {
        assert_eq!(percent("5%"), Ok(0.05));
        assert_eq!(percent(" 5 % "), Ok(0.05));
        assert_eq!(percent("0"), Ok(0.0));
        assert!(percent("-1%").is_err() && percent("x").is_err() && percent("100%").is_err());
        assert_eq!(positive_percent("0.5%"), Ok(0.005));
        assert!(positive_percent("0").is_err());
    }
}
