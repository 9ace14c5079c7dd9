//! One test's past, from the roll-ups.
//!
//! Roll-ups are a tenth of the attempts, in few files. The attempts of days that are rolled up are only read for the
//! latest steps, and for when the very first one began.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{NaiveDate, NaiveTime};
use flakewise_model::{Outcome, Phase};

use crate::contexts::{Contexts, RunColumns};
use crate::gather::{Numbered, Packed, numbers};
use crate::maintain::overlap;
use crate::report::{Columns, collect, list};
use crate::rollup::{DailySession, OF_ATTEMPTS};
use crate::session::Reading;
use crate::show::{Alike, Builder, steps_of};
use crate::table::TableKind;
use crate::{History, HistoryError};

/// The attempts of a few days.
const FEW_DAYS: &str = "attempts_of_few_days";

impl History {
    /// Takes in all attempts of days that are rolled up, of the test with these ids.
    pub(crate) async fn add_rolled(
        &self,
        builder: &mut Builder,
        daily: &DailySession,
        names: &[String],
        contexts: &mut Contexts,
    ) -> Result<(), HistoryError> {
        let among = list("test", "IN", names);
        let mut days = BTreeMap::new();
        add_others(builder, daily, &among, contexts, &mut days).await?;
        add_passes(builder, daily, &among, contexts, &mut days).await?;
        self.add_steps(builder, daily, &among, contexts, &days).await
    }

    /// The latest steps, and those of the first day. `days` has how many attempts there are of each day.
    async fn add_steps(
        &self,
        builder: &mut Builder,
        daily: &DailySession,
        among: &str,
        contexts: &mut Contexts,
        days: &BTreeMap<NaiveDate, u64>,
    ) -> Result<(), HistoryError> {
        let Some(first) = days.keys().next() else { return Ok(()) };
        let mut missing = u64::try_from(builder.limit).unwrap_or(u64::MAX);
        let mut since = first;
        for (day, attempts) in days.iter().rev() {
            since = day;
            missing = missing.saturating_sub(*attempts);
            if missing == 0 {
                break;
            }
        }
        let first_day = first.to_epoch_days()..=first.to_epoch_days();
        let latest_days = since.to_epoch_days()..=i32::MAX;
        let files = daily.rolled_files.iter().filter(|file| {
            let of = |days| file.days.as_ref().is_some_and(|of_file| overlap(of_file, days));
            of(&first_day) || of(&latest_days)
        });
        let paths: Vec<String> = files.map(|file| file.path.clone()).collect();
        if !daily
            .rolled_files
            .iter()
            .any(|file| file.days.as_ref().is_some_and(|days| overlap(days, &first_day)))
        {
            // Its attempts have expired.
            builder.see(first.and_time(NaiveTime::MIN).and_utc());
        }
        if paths.is_empty() {
            return Ok(());
        }
        let columns = TableKind::Attempts.columns();
        self.register(&daily.session, FEW_DAYS, &daily.attempts, columns, Some(paths), Reading::Few)
            .await
            .map_err(HistoryError::query)?;
        let query = format!(
            "SELECT started_at, outcome, run, commit, dirty, branch, variant FROM {FEW_DAYS}
             WHERE (day >= DATE '{since}' OR day = DATE '{first}') {among}"
        );
        for batch in collect(&daily.session, &query).await? {
            for (_, _, step) in steps_of(&batch, contexts)? {
                builder.add_step(step);
            }
        }
        Ok(())
    }
}

/// Attempts that failed or were not the first.
async fn add_others(
    builder: &mut Builder,
    daily: &DailySession,
    among: &str,
    contexts: &mut Contexts,
    days: &mut BTreeMap<NaiveDate, u64>,
) -> Result<(), HistoryError> {
    let query = format!(
        "SELECT {} FROM rolled_others WHERE record = 'attempts' {among}",
        OF_ATTEMPTS.map(|name| format!("\"{name}\"")).join(", ")
    );
    for batch in collect(&daily.session, &query).await? {
        let columns = Columns(&batch);
        let runs = RunColumns::new(&columns)?;
        let dates = columns.days("day")?;
        let (phases, outcomes) = (columns.texts("phase")?, columns.texts("outcome")?);
        let fingerprints = columns.texts("fingerprint")?;
        let (kinds, messages) = (columns.texts("failure_kind")?, columns.texts("failure_message")?);
        let (attempts, spent) = (columns.counts("attempts")?, columns.counts("spent_us")?);
        let (first, last) = (columns.times("first_at")?, columns.times("last_at")?);
        for row in 0..batch.num_rows() {
            let outcome = outcomes[row].as_deref().map(str::parse::<Outcome>);
            let (Some(Ok(outcome)), Some(day)) = (outcome, dates[row]) else { continue };
            *days.entry(day).or_default() += attempts[row];
            let place = contexts.find(&runs.at(row));
            let alike = Alike {
                outcome,
                count: attempts[row],
                is_first: phases[row].as_deref() == Some(Phase::First.name()),
                as_base: phases[row].as_deref() == Some(Phase::Base.name()),
                fingerprint: fingerprints[row].clone(),
                kind: kinds[row].clone(),
                message: messages[row].clone().unwrap_or_default(),
                spent: Duration::from_micros(spent[row]),
                first: first[row],
                last: last[row],
            };
            builder.add_alike(place, contexts.get(place), alike);
        }
    }
    Ok(())
}

/// First attempts that passed or were skipped.
async fn add_passes(
    builder: &mut Builder,
    daily: &DailySession,
    among: &str,
    contexts: &mut Contexts,
    days: &mut BTreeMap<NaiveDate, u64>,
) -> Result<(), HistoryError> {
    let query = format!("SELECT day, outcome, attempts, passes FROM rolled_days WHERE true {among}");
    let batches = collect(&daily.session, &query).await?;
    let numbers = numbers(contexts, &daily.session, "").await?;
    for batch in batches {
        let columns = Columns(&batch);
        let (dates, outcomes) = (columns.days("day")?, columns.texts("outcome")?);
        let attempts = columns.counts("attempts")?;
        let packed = Packed::new(&columns)?;
        for row in 0..batch.num_rows() {
            let Some(day) = dates[row] else { continue };
            *days.entry(day).or_default() += attempts[row];
            builder.add_count(attempts[row]);
            if outcomes[row].as_deref() != Some(Outcome::Passed.name()) {
                continue;
            }
            let runs = numbers.get(&day).map_or(&[][..], Vec::as_slice);
            for pass in packed.at(row, runs)? {
                let (Numbered { context, revision }, count) = pass?;
                if revision.is_some() {
                    builder.add_passes(context, contexts.get(context), count);
                }
            }
        }
    }
    Ok(())
}
