//! Plots as SVG within a page. Marks differ in more than colour.

/// Lines of one plot, distinguished by colour and dashes.
const STYLES: [(&str, &str); 8] = [
    ("#0b5fa5", ""),
    ("#c2410c", ""),
    ("#15803d", ""),
    ("#7e22ce", ""),
    ("#0b5fa5", "5 3"),
    ("#c2410c", "5 3"),
    ("#15803d", "5 3"),
    ("#7e22ce", "5 3"),
];

const SIZE: f64 = 300.0;
const MARGIN: f64 = 44.0;

/// A line through points, each from 0 to 1 in both directions.
pub(crate) struct Line<'a> {
    pub(crate) name: &'a str,
    pub(crate) points: Vec<(f64, f64)>,
    /// A size for each point, from 0 to 1; none draws the line alone.
    pub(crate) sizes: Vec<f64>,
}

/// A square plot of lines with a legend, the diagonal drawn if it means something.
pub(crate) fn square(x_title: &str, y_title: &str, diagonal: bool, lines: &[Line<'_>]) -> String {
    let height = SIZE + 2.0 * MARGIN - 14.0;
    let width = SIZE + MARGIN + 190.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{y} over {x}\">",
        x = escape(x_title),
        y = escape(y_title)
    );
    for step in 0..=5 {
        let value = f64::from(step) / 5.0;
        let (x, y) = place((value, value));
        let (left, bottom) = place((0.0, 0.0));
        let (right, top) = place((1.0, 1.0));
        svg += &format!(
            "<path class=\"grid\" d=\"M{x:.1} {bottom:.1}V{top:.1}M{left:.1} {y:.1}H{right:.1}\"/>\
             <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value:.1}</text>\
             <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{value:.1}</text>",
            bottom + 14.0,
            left - 5.0,
            y + 3.5
        );
    }
    if diagonal {
        svg += &format!("<path class=\"diagonal\" d=\"{}\"/>", path(&[(0.0, 0.0), (1.0, 1.0)]));
    }
    let (middle, bottom) = place((0.5, 0.0));
    svg += &format!(
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text transform=\"translate(11 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        bottom + 32.0,
        escape(x_title),
        place((0.0, 0.5)).1,
        escape(y_title)
    );
    for (number, line) in lines.iter().enumerate() {
        let (colour, dashes) = STYLES[number % STYLES.len()];
        let name = escape(line.name);
        svg += &format!(
            "<g stroke=\"{colour}\" fill=\"{colour}\"><title>{name}</title>\
             <path class=\"line\" stroke-dasharray=\"{dashes}\" d=\"{}\"/>",
            path(&line.points)
        );
        for (&point, size) in line.points.iter().zip(&line.sizes) {
            let (x, y) = place(point);
            svg += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\"/>", 2.0 + 6.0 * size);
        }
        let y = 22.0 + 17.0 * number as f64;
        let x = MARGIN + SIZE + 14.0;
        svg += &format!(
            "<path class=\"line\" stroke-dasharray=\"{dashes}\" d=\"M{x:.0} {y:.0}h22\"/></g>\
             <text x=\"{:.0}\" y=\"{:.0}\">{name}</text>",
            x + 28.0,
            y + 4.0
        );
    }
    svg + "</svg>"
}

/// Bars from 0 to 1, one below the other; several for each name.
pub(crate) fn bars(series: &[&str], rows: &[(String, Vec<Option<f64>>)]) -> String {
    const LABEL: f64 = 230.0;
    const BAR: f64 = 9.0;
    const LEGEND: f64 = 16.0;
    let row_height = BAR * series.len() as f64 + 7.0;
    let head = LEGEND * series.len() as f64 + 8.0;
    let height = head + row_height * rows.len() as f64;
    let width = LABEL + SIZE + 60.0;
    let mut svg = format!(
        "<svg viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">"
    );
    for (number, name) in series.iter().enumerate() {
        let y = LEGEND * number as f64;
        svg += &format!(
            "<rect x=\"{LABEL:.0}\" y=\"{:.0}\" width=\"10\" height=\"10\" fill=\"{}\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            y + 3.0,
            STYLES[number % STYLES.len()].0,
            LABEL + 16.0,
            y + 12.0,
            escape(name)
        );
    }
    for (row, (name, values)) in rows.iter().enumerate() {
        let top = head + row_height * row as f64;
        svg += &format!(
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LABEL - 8.0,
            top + row_height / 2.0,
            escape(name)
        );
        for (number, value) in values.iter().enumerate() {
            let y = top + BAR * number as f64;
            let base = y + BAR - 1.5;
            if let Some(value) = value {
                svg += &format!(
                    "<rect x=\"{LABEL:.0}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
                     <text class=\"tick\" x=\"{:.1}\" y=\"{base:.1}\">{value:.2}</text>",
                    value * SIZE,
                    BAR - 1.0,
                    STYLES[number % STYLES.len()].0,
                    LABEL + value * SIZE + 4.0
                );
            } else {
                svg += &format!("<text class=\"tick\" x=\"{LABEL:.0}\" y=\"{base:.1}\">–</text>");
            }
        }
    }
    svg + "</svg>"
}

/// What share is found after a budget, whose axis is logarithmic: a file of its
/// own. Each line has a name and the budgets after which one more is found.
pub fn found_over_budget(lines: &[(&str, &[f64])], all: usize) -> String {
    const FIRST: f64 = 0.01;
    const DECADES: i32 = 6;
    let height = SIZE + 2.0 * MARGIN - 14.0;
    let width = SIZE + MARGIN + 230.0;
    let (left, bottom) = place((0.0, 0.0));
    let (right, top) = place((1.0, 1.0));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    );
    for decade in 0..=DECADES {
        let (x, _) = place((f64::from(decade) / f64::from(DECADES), 0.0));
        let text = FIRST * 10f64.powi(decade);
        svg += &format!(
            "<path stroke=\"#ddd\" d=\"M{x:.1} {bottom:.1}V{top:.1}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
            bottom + 14.0
        );
    }
    for step in 0..=5 {
        let (_, y) = place((0.0, f64::from(step) / 5.0));
        svg += &format!(
            "<path stroke=\"#ddd\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{} %</text>",
            left - 5.0,
            y + 3.5,
            step * 20
        );
    }
    for (number, (name, budgets)) in lines.iter().enumerate() {
        let (colour, dashes) = STYLES[number % STYLES.len()];
        // A point for each percent or so is enough for the eye.
        let points: Vec<(f64, f64)> = budgets
            .iter()
            .enumerate()
            .filter(|(place, budget)| (place % 4 == 0 || place + 1 == budgets.len()) && **budget >= FIRST)
            .map(|(place, budget)| {
                ((budget / FIRST).log10() / f64::from(DECADES), (place + 1) as f64 / all.max(1) as f64)
            })
            .collect();
        let (x, y) = (right + 14.0, 22.0 + 17.0 * number as f64);
        svg += &format!(
            "<g stroke=\"{colour}\" stroke-width=\"1.6\" fill=\"none\" stroke-dasharray=\"{dashes}\">\
             <path d=\"{}\"/><path d=\"M{x:.0} {y:.0}h22\"/></g><text x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            path(&points),
            x + 28.0,
            y + 4.0,
            escape(name)
        );
    }
    let (middle, _) = place((0.5, 0.0));
    svg += &format!(
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">reruns, in suites</text></svg>\n",
        bottom + 32.0
    );
    svg
}

fn place((x, y): (f64, f64)) -> (f64, f64) {
    (MARGIN + x * SIZE, 8.0 + (1.0 - y) * SIZE)
}

fn path(points: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (number, &point) in points.iter().enumerate() {
        let (x, y) = place(point);
        path += &format!("{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
    }
    path
}

/// Text as it may stand in a page.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
