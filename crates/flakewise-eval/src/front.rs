//! CANNIER's front over thresholds and most runs, for somebody to pick from.

use std::fmt;

use flakewise_hunt::cannier::{self, Point};

use crate::plot::escape;
use crate::replay::{ReplayTest, cannier_front};

/// The most runs of a test that are tried.
const MOST: [u32; 7] = [10, 30, 100, 300, 1_000, 3_000, 10_000];
/// Those whose own fronts are drawn.
const DRAWN: [u32; 4] = [10, 100, 1_000, 10_000];
/// Those whose own knees are named.
const KNEES: [u32; 2] = [1_000, 10_000];
/// Costs, in suites, for which the best point is named.
const BUDGETS: [f64; 4] = [3.0, 10.0, 100.0, 1_000.0];

/// A setting of CANNIER that no other beats in both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The most runs of a test.
    pub most: u32,
    /// What it gives. Its cost is in suites.
    pub point: Point,
}

/// What there is to pick from.
#[derive(Clone, Debug)]
pub struct Front {
    /// All that is not beaten, from cheap to dear.
    pub choices: Vec<Choice>,
    /// The one nearest to perfect at no cost.
    pub knee: Choice,
    /// Some of them, the knee among them, and knees for some numbers of runs
    /// that others may beat; from cheap to dear.
    pub named: Vec<Choice>,
    own: Vec<(u32, Vec<Choice>)>,
    own_knees: Vec<Choice>,
}

impl Front {
    /// Tries everything on recorded runs. None if there is no test.
    pub fn new(tests: &[ReplayTest]) -> Option<Self> {
        let own: Vec<(u32, Vec<Choice>)> = MOST
            .into_iter()
            .map(|most| {
                let suites = |point: Point| Point { cost: point.cost / tests.len() as f64, ..point };
                let front = cannier_front(tests, most, |rate| cannier::chance_of_both(rate, most));
                let points = front.into_iter().map(suites);
                (most, points.map(|point| Choice { most, point }).collect())
            })
            .collect();
        let all: Vec<Choice> = own.iter().flat_map(|(_, choices)| choices).copied().collect();
        let points: Vec<Point> = all.iter().map(|choice| choice.point).collect();
        let choice = |point: Point| all.iter().copied().find(|choice| choice.point == point);
        let choices: Vec<Choice> = cannier::pareto(&points).into_iter().filter_map(choice).collect();
        let points: Vec<Point> = choices.iter().map(|choice| choice.point).collect();
        let knee = cannier::knee(&points).and_then(choice)?;
        let within = |budget: &f64| choices.iter().rfind(|choice| choice.point.cost <= *budget).copied();
        let mut named: Vec<Choice> = BUDGETS.iter().filter_map(within).collect();
        let own_knee = |(most, choices): &(u32, Vec<Choice>)| {
            let points: Vec<Point> = choices.iter().map(|choice| choice.point).collect();
            cannier::knee(&points).and_then(choice).filter(|_| KNEES.contains(most))
        };
        let own_knees: Vec<Choice> = own.iter().filter_map(own_knee).collect();
        named.extend(own_knees.iter().copied().chain([knee]));
        named.extend(choices.first().into_iter().chain(choices.last()));
        named.sort_by(|one, other| one.point.cost.total_cmp(&other.point.cost));
        named.dedup();
        Some(Self { choices, knee, named, own, own_knees })
    }

    /// What is special about a choice.
    fn note(&self, choice: &Choice) -> String {
        if *choice == self.knee {
            " knee".to_owned()
        } else if self.own_knees.contains(choice) {
            format!(" knee of {}", choice.most)
        } else {
            String::new()
        }
    }
}

impl fmt::Display for Front {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "  thresholds   most runs   suites  saved   found    MCC")?;
        let whole = self.choices.last().map_or(1.0, |choice| choice.point.cost);
        for (place, choice) in self.named.iter().enumerate() {
            let Choice { most, point } = choice;
            writeln!(
                out,
                "{} {:11} {most:>9} {:>8} {:>4.1} % {:>5.1} %  {:.3}{}",
                letter(place),
                thresholds(point),
                suites(point.cost),
                100.0 * (1.0 - point.cost / whole),
                100.0 * point.found,
                point.correlation,
                self.note(choice)
            )?;
        }
        Ok(())
    }
}

/// The letter by which a named choice is called.
fn letter(place: usize) -> char {
    char::from(b'A' + u8::try_from(place % 26).expect("there are 26 letters"))
}

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 40.0;
const PANEL: f64 = HEIGHT + 88.0;
const FIRST: f64 = 0.5;
const LAST: f64 = 20_000.0;

/// Fronts of which each has a title, one below the other: a file of its own.
pub fn fronts_over_cost(fronts: &[(&str, &Front)]) -> String {
    let (width, height) = (LEFT + WIDTH + 300.0, PANEL * fronts.len() as f64);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
    );
    for (number, (title, front)) in fronts.iter().enumerate() {
        svg += &format!("<g transform=\"translate(0 {:.0})\">", PANEL * number as f64);
        svg += &axes(title);
        svg += &panel(front);
        svg += "</g>";
    }
    svg + "</svg>\n"
}

fn axes(title: &str) -> String {
    let (right, bottom) = (LEFT + WIDTH, TOP + HEIGHT);
    let mut svg =
        format!("<text x=\"{LEFT}\" y=\"16\" font-size=\"13\" font-weight=\"bold\">{}</text>", escape(title));
    for decade in [1.0, 10.0, 100.0, 1_000.0, 10_000.0] {
        let (x, _) = place(decade, 0.0);
        svg += &format!(
            "<path stroke=\"#ddd\" d=\"M{x:.1} {bottom}V{TOP}\"/>\
             <text x=\"{x:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{decade}</text>",
            bottom + 14.0
        );
    }
    for step in 0..=5 {
        let value = f64::from(step) / 5.0;
        let (_, y) = place(FIRST, value);
        svg += &format!(
            "<path stroke=\"#ddd\" d=\"M{LEFT} {y:.1}H{right}\"/>\
             <text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{value:.1}</text>",
            LEFT - 5.0,
            y + 3.5
        );
    }
    let (x, y) = place(FIRST, 1.0);
    svg + &format!(
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">cost in suites</text>\
         <text transform=\"translate(14 {:.0}) rotate(-90)\" text-anchor=\"middle\">MCC</text>\
         <path d=\"M{x:.1} {y:.1}m-6 0h12m-6 -6v12m-4 -10l8 8m0 -8l-8 8\" stroke=\"#111\" stroke-width=\"1.3\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\">utopia: MCC 1 at no cost</text>",
        LEFT + WIDTH / 2.0,
        bottom + 32.0,
        TOP + HEIGHT / 2.0,
        x + 9.0,
        y - 6.0
    )
}

fn panel(front: &Front) -> String {
    const STYLES: [(&str, &str); 4] =
        [("#7e22ce", "2 2"), ("#15803d", "6 2"), ("#c2410c", "6 2 2 2"), ("#64748b", "10 3")];
    let x = LEFT + WIDTH + 16.0;
    let mut svg = String::new();
    let mut y = TOP + 4.0;
    let mut legend = |svg: &mut String, style: &str, text: &str| {
        *svg += &format!(
            "<path fill=\"none\" {style} d=\"M{x} {y}h22\"/><text x=\"{}\" y=\"{}\">{text}</text>",
            x + 28.0,
            y + 4.0
        );
        y += 16.0;
    };
    let drawn = front.own.iter().filter(|(most, _)| DRAWN.contains(most));
    for ((most, choices), (colour, dashes)) in drawn.zip(STYLES) {
        let style = format!("stroke=\"{colour}\" stroke-width=\"1.1\" stroke-dasharray=\"{dashes}\"");
        svg += &format!("<path fill=\"none\" {style} d=\"{}\"/>", stairs(choices));
        legend(&mut svg, &style, &format!("at most {most} runs of a test"));
    }
    let style = "stroke=\"#0b5fa5\" stroke-width=\"2\"";
    svg += &format!("<path fill=\"none\" {style} d=\"{}\"/>", stairs(&front.choices));
    legend(&mut svg, style, "the best of all");
    let column = |offset: f64| x + offset;
    y += 10.0;
    svg += &format!(
        "<g fill=\"#555\"><text x=\"{}\" y=\"{y}\">ω_l – ω_u</text><text x=\"{}\" y=\"{y}\">R_max</text>\
         <text x=\"{}\" y=\"{y}\">suites</text><text x=\"{}\" y=\"{y}\">MCC</text></g>",
        column(20.0),
        column(90.0),
        column(140.0),
        column(190.0)
    );
    for (number, choice) in front.named.iter().enumerate() {
        let Choice { most, point } = choice;
        let name = letter(number);
        y += 17.0;
        let (at_x, at_y) = place(point.cost, point.correlation);
        if !front.note(choice).is_empty() {
            let dashes = if *choice == front.knee { "" } else { "2 2" };
            svg += &format!(
                "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"8\" fill=\"none\" stroke=\"#c2410c\" \
                 stroke-width=\"2\" stroke-dasharray=\"{dashes}\"/>"
            );
        }
        svg += &format!(
            "<circle cx=\"{at_x:.1}\" cy=\"{at_y:.1}\" r=\"3.5\" fill=\"#0b5fa5\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" font-weight=\"bold\">{name}</text>\
             <text x=\"{}\" y=\"{y}\" font-weight=\"bold\">{name}</text><text x=\"{}\" y=\"{y}\">{}</text>\
             <text x=\"{}\" y=\"{y}\">{most}</text><text x=\"{}\" y=\"{y}\">{}</text>\
             <text x=\"{}\" y=\"{y}\">{:.2}{}</text>",
            at_x - 15.0,
            at_y - 8.0,
            column(0.0),
            column(20.0),
            thresholds(point),
            column(90.0),
            column(140.0),
            suites(point.cost),
            column(190.0),
            point.correlation,
            front.note(choice)
        );
    }
    svg
}

/// The thresholds as text. The last upper one is above every probability.
fn thresholds(point: &Point) -> String {
    let cannier::Thresholds { lower, upper } = point.thresholds;
    if upper > 1.0 { format!("{lower:.2} – none") } else { format!("{lower:.2} – {upper:.2}") }
}

/// A cost as text, with as many digits as tell something.
fn suites(cost: f64) -> String {
    if cost < 99.5 { format!("{cost:.1}") } else { format!("{cost:.0}") }
}

fn place(cost: f64, correlation: f64) -> (f64, f64) {
    let share = (cost.max(FIRST) / FIRST).log10() / (LAST / FIRST).log10();
    (LEFT + share * WIDTH, TOP + (1.0 - correlation) * HEIGHT)
}

/// Between two points of a front there is nothing better than the cheaper one.
fn stairs(choices: &[Choice]) -> String {
    let mut path = String::new();
    for Choice { point, .. } in choices {
        let (x, y) = place(point.cost, point.correlation);
        path += &if path.is_empty() { format!("M{x:.1} {y:.1}") } else { format!("H{x:.1}V{y:.1}") };
    }
    path
}

#[cfg(test)]
mod tests {
    use flakewise_hunt::Known;

    use super::*;

    fn test(risk: f64, failed: u32) -> ReplayTest {
        ReplayTest { project: 0, known: Known { risk, class: 0, module: 0, passed: 10_000 - failed, failed } }
    }

    #[test]
    fn nothing_to_pick_is_beaten_and_everything_named_is_drawn() {
        let tests: Vec<ReplayTest> = (0..200)
            .map(|number| test(f64::from(number % 50) / 50.0, if number % 9 == 8 { number } else { 0 }))
            .collect();
        let front = Front::new(&tests).expect("there are tests");
        for (one, next) in front.choices.iter().zip(&front.choices[1..]) {
            assert!(one.point.cost < next.point.cost && one.point.correlation < next.point.correlation);
        }
        assert!(front.choices.contains(&front.knee) && front.named.contains(&front.knee));
        let svg = fronts_over_cost(&[("a < b", &front)]);
        assert!(svg.contains("a &lt; b"));
        for (place, _) in front.named.iter().enumerate() {
            assert_eq!(svg.matches(&format!("\"bold\">{}</text>", letter(place))).count(), 2);
        }
        assert!(Front::new(&[]).is_none_or(|front| front.choices.len() == 1));
    }

    #[test]
    fn fewer_runs_find_less() {
        let tests = [test(0.5, 10), test(0.5, 0)];
        let found = |most| cannier_front(&tests, most, |rate| cannier::chance_of_both(rate, most));
        let best = |most| found(most).last().expect("there is a front").found;
        assert!(best(100) < best(1_000) && best(1_000) < best(10_000));
    }
}
