//! Bars in text.

/// Bars grow by an eighth of a character.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar that fills `share` of the width; anything above nothing shows.
pub fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * (width * 8) as f64).ceil() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}
