//! The results as one page that needs nothing else.

use crate::plot::{Line, bars, escape, square};
use crate::text::{optional, ratios};
use crate::{Evaluation, Measures, ProtocolMeasures};

/// This many models are drawn: more lines cannot be distinguished.
const DRAWN: usize = 6;
/// So many are drawn project by project.
const COMPARED: usize = 3;

impl Evaluation {
    /// The results as one page, with plots.
    pub fn page(&self) -> String {
        let mut page = format!(
            "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>Prediction on {name}</title>\n<style>{STYLE}</style>\n\
             <h1>Prediction on {name}</h1>\n\
             <p>{} tests of {} projects, {} of them flaky ({:.1} %). Seed {}. Every model is measured on the same \
             folds; thresholds and calibration come from the part that is learnt from. The first protocol alone \
             says little: near-copies of a test, and other tests of its class, are learnt from.</p>\n",
            self.tests,
            self.projects,
            self.flaky,
            100.0 * self.flaky as f64 / self.tests.max(1) as f64,
            self.seed,
            name = escape(&self.dataset),
        );
        page += &self.side_by_side();
        for measured in &self.protocols {
            page += &self.section(measured);
        }
        page + "</html>\n"
    }

    /// F1 and area under the curve of every model under all protocols.
    fn side_by_side(&self) -> String {
        let mut table = "<h2>Side by side</h2>\n<table><tr><th>model".to_owned();
        for measured in &self.protocols {
            table += &format!("<th colspan=\"3\">{}", measured.protocol.title());
        }
        table += "<tr><th>";
        table += &"<th>F1<th>AUC-PR<th>ROC-AUC".repeat(self.protocols.len());
        let Some(first) = self.protocols.first() else { return String::new() };
        for (row, model) in first.models.iter().enumerate() {
            table += &format!("<tr><td>{}", escape(&model.model));
            for measured in &self.protocols {
                let of = |measure: &dyn Fn(&Measures) -> f64| {
                    let value = measure(&measured.models[row]);
                    let best = measured.models.iter().map(measure).fold(0.0, f64::max);
                    if value > 0.0 && value >= best {
                        format!("<b>{value:.3}</b>")
                    } else {
                        format!("{value:.3}")
                    }
                };
                table += &format!(
                    "<td>{}<td>{}<td>{}",
                    of(&|model| model.confusion.f1()),
                    of(&|model| model.average_precision),
                    of(&|model| model.within_projects.unwrap_or(0.0)),
                );
            }
        }
        table += "</table>\n<p>AUC-PR is the area under precision over recall; guessing gives the share of flaky \
                  tests. ROC-AUC is the mean over projects with at least three flaky tests of the chance that a \
                  flaky test is ranked above another one.</p>\n";
        table
    }

    fn section(&self, measured: &ProtocolMeasures) -> String {
        let mut section =
            format!("<h2>{} ({} folds)</h2>\n", capital(measured.protocol.title()), measured.folds);
        section += "<table><tr><th>model<th>precision<th>recall<th>F1<th>MCC<th>AUC-PR<th>ROC-AUC<th>Brier\
                    <th>found<th>false alarms<th>missed<th>rightly quiet\n";
        for model in &measured.models {
            let [precision, recall, f1, mcc] = ratios(model);
            let counts = &model.confusion;
            section += &format!(
                "<tr><td>{}<td>{precision:.3}<td>{recall:.3}<td>{f1:.3}<td>{mcc:.3}<td>{:.3}<td>{}<td>{:.3}\
                 <td>{}<td>{}<td>{}<td>{}\n",
                escape(&model.model),
                model.average_precision,
                optional(model.within_projects),
                model.brier,
                counts.true_positives,
                counts.false_positives,
                counts.false_negatives,
                counts.true_negatives
            );
        }
        section += "</table>\n<div class=\"plots\">\n";
        let best = best(&measured.models);
        let lines = best.iter().map(|model| Line {
            name: &model.model,
            points: model.curve.clone(),
            sizes: Vec::new(),
        });
        let lines: Vec<Line<'_>> = lines.collect();
        section += &figure("Precision over recall", &square("recall", "precision", false, &lines));
        let lines: Vec<Line<'_>> = best
            .iter()
            .take(COMPARED)
            .map(|model| Line {
                name: &model.model,
                points: model
                    .reliability
                    .iter()
                    .map(|bin| (bin.mean_probability, bin.share_positive))
                    .collect(),
                sizes: model
                    .reliability
                    .iter()
                    .map(|bin| (bin.count as f64).log10() / (self.tests as f64).log10())
                    .collect(),
            })
            .collect();
        section += &figure(
            "Whether probabilities hold what they say (larger dots: more tests)",
            &square("predicted", "observed", true, &lines),
        );
        section += "</div>\n";
        let compared: Vec<&Measures> = best.iter().take(COMPARED).copied().collect();
        let names: Vec<&str> = compared.iter().map(|model| model.model.as_str()).collect();
        let rows: Vec<(String, Vec<Option<f64>>)> = compared.first().map_or_else(Vec::new, |first| {
            let flaky = |place: usize| {
                let counts = &first.projects[place].confusion;
                (
                    counts.true_positives + counts.false_negatives,
                    counts.false_positives + counts.true_negatives,
                )
            };
            (0..first.projects.len())
                .filter(|&place| flaky(place).0 > 0)
                .map(|place| {
                    let (flaky, other) = flaky(place);
                    let name = format!("{} ({flaky} of {})", first.projects[place].project, flaky + other);
                    (name, compared.iter().map(|model| model.projects[place].average_precision).collect())
                })
                .collect()
        });
        section + &figure("AUC-PR by project (flaky of all tests)", &bars(&names, &rows))
    }
}

/// The models with the greatest area under the curve, one for each different curve.
fn best(models: &[Measures]) -> Vec<&Measures> {
    let mut best: Vec<&Measures> = Vec::new();
    for model in models {
        if !best.iter().any(|other| other.curve == model.curve) {
            best.push(model);
        }
    }
    best.sort_by(|left, right| right.average_precision.total_cmp(&left.average_precision));
    best.truncate(DRAWN);
    best
}

fn figure(title: &str, svg: &str) -> String {
    format!("<figure><figcaption>{}</figcaption>{svg}</figure>\n", escape(title))
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c1917;--soft:#78716c;--rule:#d6d3d1;--paper:#fff}\
@media(prefers-color-scheme:dark){:root{--ink:#e7e5e4;--soft:#a8a29e;--rule:#44403c;--paper:#1c1917}}\
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:1180px;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.5rem}p{max-width:46rem}\
table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}\
th,td{padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--rule)}\
th{font-weight:600;color:var(--soft)}th:first-child,td:first-child{text-align:left}\
.plots{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:1rem 0}figcaption{color:var(--soft)}\
svg{max-width:100%;height:auto}svg text{font-size:12px;fill:var(--ink);stroke:none}svg .tick{font-size:10px;fill:var(--soft)}\
.grid{stroke:var(--rule);stroke-width:.5}.diagonal{stroke:var(--soft);stroke-dasharray:2 3;fill:none}\
.line{fill:none;stroke-width:1.8}";
