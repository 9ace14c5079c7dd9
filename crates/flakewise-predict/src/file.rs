//! A model as a file.
//!
//! A head of magic, format and checksum, then plain data. Reading executes
//! nothing, sets nothing aside that the file does not hold, and refuses what
//! does not fit together.

use flakewise_learn::{Booster, LinearModel, Node, Platt, Tree};

use crate::Familiarity;
use crate::blend::{Base, Blend, Columns, Expert, TextModel};
use crate::category::CategoryJudge;
use crate::codec::{Damage, Reader, Writer};
use crate::flast_judge::FlastJudge;
use crate::model::{Expectation, Judge, ModelCard, ModelError};
use crate::neighbours::Neighbours;
use crate::odds::WordOdds;
use crate::past::Past;
use crate::path_judge::PathJudge;
use crate::surroundings::FeatureGroups;
use crate::words::{TextSpace, Vocabulary};

const MAGIC: &[u8; 8] = b"flkwmodl";
/// Raised with any change of what is written, or of how words are hashed.
const FORMAT: u32 = 2;
/// Without the groups of surroundings. It is still written where a model has
/// none, so that older versions read it.
const FORMAT_WITHOUT_GROUPS: u32 = 1;
/// Of a model of FLAST.
const FORMAT_FLAST: u32 = 3;
/// With groups, and with a category model at the end.
const FORMAT_WITH_CATEGORIES: u32 = 4;
const CHECKSUM: usize = 32;

pub(crate) fn write(card: &ModelCard, blend: &Blend, categories: Option<&CategoryJudge>) -> Vec<u8> {
    let mut writer = Writer::default();
    let groups = blend.columns.groups;
    let format = match (groups == FeatureGroups::NONE, categories) {
        (true, None) => FORMAT_WITHOUT_GROUPS,
        (false, None) => FORMAT,
        (_, Some(_)) => FORMAT_WITH_CATEGORIES,
    };
    let has_groups = format != FORMAT_WITHOUT_GROUPS;
    if has_groups {
        writer.byte(groups.to_bits());
    }
    write_card(card, &mut writer);
    blend.base.space.write(&mut writer);
    blend.base.past.write(&mut writer);
    blend.base.neighbours.write(&mut writer);
    blend.columns.body.write(&mut writer);
    blend.columns.context.write(&mut writer);
    if has_groups {
        blend.columns.tree.write(&mut writer);
        blend.columns.under.write(&mut writer);
        blend.columns.paths.write(&mut writer);
    }
    writer.count(blend.experts.len());
    for expert in &blend.experts {
        write_expert(expert, &mut writer);
    }
    if let Some(categories) = categories {
        categories.write(&mut writer);
    }
    seal(format, &writer.finish())
}

/// A model of FLAST as a file.
pub(crate) fn write_flast(
    card: &ModelCard,
    flast: &FlastJudge,
    categories: Option<&CategoryJudge>,
) -> Vec<u8> {
    let mut writer = Writer::default();
    write_card(card, &mut writer);
    flast.write(&mut writer);
    write_categories(categories, &mut writer);
    seal(FORMAT_FLAST, &writer.finish())
}

/// The category model, if there is one.
pub(crate) fn write_categories(categories: Option<&CategoryJudge>, writer: &mut Writer) {
    writer.byte(u8::from(categories.is_some()));
    if let Some(categories) = categories {
        categories.write(writer);
    }
}

pub(crate) fn read_categories(reader: &mut Reader<'_>) -> Result<Option<CategoryJudge>, Damage> {
    match reader.byte()? {
        0 => Ok(None),
        1 => CategoryJudge::read(reader).map(Some),
        _ => Err("the flag of the category model is invalid"),
    }
}

/// Puts magic, format and checksum in front of data.
fn seal(format: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + 4 + CHECKSUM + data.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&format.to_le_bytes());
    bytes.extend_from_slice(blake3::hash(data).as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

/// What a model file holds.
pub(crate) struct Contents {
    pub(crate) card: ModelCard,
    pub(crate) judge: Judge,
    pub(crate) categories: Option<CategoryJudge>,
}

/// What a file holds, and the checksum of that.
pub(crate) fn read(bytes: &[u8]) -> Result<(Contents, [u8; CHECKSUM]), ModelError> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        let (card, paths, categories) = PathJudge::read(bytes)?;
        let contents = Contents { card, judge: Judge::Paths(Box::new(paths)), categories };
        return Ok((contents, *blake3::hash(bytes).as_bytes()));
    };
    let (format, rest) = rest.split_first_chunk::<4>().ok_or(ModelError::Damaged("it ends too early"))?;
    let found = u32::from_le_bytes(*format);
    if !(FORMAT_WITHOUT_GROUPS..=FORMAT_WITH_CATEGORIES).contains(&found) {
        return Err(ModelError::Newer { found, known: FORMAT_WITH_CATEGORIES });
    }
    let (checksum, data) =
        rest.split_first_chunk::<CHECKSUM>().ok_or(ModelError::Damaged("it ends too early"))?;
    if blake3::hash(data).as_bytes() != checksum {
        return Err(ModelError::Damaged("its checksum is wrong"));
    }
    let contents = if found == FORMAT_FLAST { read_flast(data) } else { read_data(data, found) };
    Ok((contents.map_err(ModelError::Damaged)?, *checksum))
}

fn read_flast(data: &[u8]) -> Result<Contents, Damage> {
    let mut reader = Reader::new(data);
    let card = read_card(&mut reader)?;
    let flast = FlastJudge::read(&mut reader)?;
    let categories = read_categories(&mut reader)?;
    reader.end()?;
    Ok(Contents { card, judge: Judge::Flast(Box::new(flast)), categories })
}

fn read_data(data: &[u8], format: u32) -> Result<Contents, Damage> {
    let mut reader = Reader::new(data);
    let has_groups = format != FORMAT_WITHOUT_GROUPS;
    let groups = if has_groups {
        FeatureGroups::from_bits(reader.byte()?).ok_or("it has unknown groups of features")?
    } else {
        FeatureGroups::NONE
    };
    let card = read_card(&mut reader)?;
    let space = TextSpace::read(&mut reader, groups)?;
    let past = Past::read(&mut reader)?;
    let neighbours = Neighbours::read(&mut reader, space.columns())?;
    let (body, context) = (Vocabulary::read(&mut reader)?, Vocabulary::read(&mut reader)?);
    let mut chosen = || if has_groups { Vocabulary::read(&mut reader) } else { Ok(Vocabulary::default()) };
    let (tree, under, paths) = (chosen()?, chosen()?, chosen()?);
    let columns = Columns { groups, body, context, tree, under, paths };
    let experts: Result<Vec<Expert>, Damage> =
        (0..reader.count(8)?).map(|_| read_expert(&mut reader, &space, &columns)).collect();
    let experts = experts?;
    let categories = match format {
        FORMAT_WITH_CATEGORIES => Some(CategoryJudge::read(&mut reader)?),
        _ => None,
    };
    reader.end()?;
    let base = Base { space, past, neighbours };
    let judge = Judge::Blend(Box::new(Blend { base, columns, experts }));
    Ok(Contents { card, judge, categories })
}

pub(crate) fn write_card(card: &ModelCard, writer: &mut Writer) {
    writer.text(&card.trained_on);
    for number in [card.tests, card.flaky, card.projects] {
        writer.number(number);
    }
    writer.count(card.expectations.len());
    for expectation in &card.expectations {
        writer.byte(familiarity_number(expectation.familiarity));
        for number in [expectation.threshold, expectation.precision, expectation.recall] {
            writer.double(number);
        }
    }
}

pub(crate) fn read_card(reader: &mut Reader<'_>) -> Result<ModelCard, Damage> {
    let mut card = ModelCard {
        trained_on: reader.text()?,
        tests: reader.number()?,
        flaky: reader.number()?,
        projects: reader.number()?,
        expectations: Vec::new(),
    };
    for _ in 0..reader.count(25)? {
        card.expectations.push(Expectation {
            familiarity: read_familiarity(reader)?,
            threshold: reader.double()?,
            precision: reader.double()?,
            recall: reader.double()?,
        });
    }
    Ok(card)
}

fn write_expert(expert: &Expert, writer: &mut Writer) {
    writer.byte(familiarity_number(expert.familiarity));
    writer.single(expert.text_model.linear.bias);
    writer.coarse(&expert.text_model.linear.weights);
    expert.text_model.odds.write(writer);
    writer.count(expert.boosters.len());
    for booster in &expert.boosters {
        writer.single(booster.base()[0]);
        writer.count(booster.trees().len());
        booster.trees().iter().for_each(|tree| write_tree(tree, writer));
    }
    writer.double(expert.calibration.slope);
    writer.double(expert.calibration.intercept);
}

fn read_expert(reader: &mut Reader<'_>, space: &TextSpace, columns: &Columns) -> Result<Expert, Damage> {
    let familiarity = read_familiarity(reader)?;
    let bias = reader.finite()?;
    let weights = reader.coarse()?;
    if weights.len() != space.columns() {
        return Err("words and their weights differ in number");
    }
    let odds = WordOdds::read(reader, space.columns())?;
    let table_columns = columns.table_width(familiarity);
    let mut boosters = Vec::new();
    for _ in 0..reader.count(5)? {
        let base = reader.finite()?;
        let trees: Result<Vec<Tree>, Damage> =
            (0..reader.count(4)?).map(|_| read_tree(reader, table_columns, 1)).collect();
        let booster = Booster::from_parts(table_columns, vec![base], trees?);
        boosters.push(booster.ok_or("trees are inconsistent")?);
    }
    let calibration = Platt { slope: reader.double()?, intercept: reader.double()? };
    let text_model = TextModel { linear: LinearModel { weights, bias }, odds };
    Ok(Expert { familiarity, text_model, boosters, calibration })
}

/// The children of a node stand together, so the left one tells the right one.
pub(crate) fn write_tree(tree: &Tree, writer: &mut Writer) {
    let outputs = tree.outputs();
    writer.count(tree.nodes().len());
    for (place, node) in tree.nodes().iter().enumerate() {
        writer.number(u64::from(node.left));
        if !node.is_leaf() {
            writer.number(u64::from(node.feature) << 1 | u64::from(node.missing_left));
            writer.single(node.threshold);
        }
        tree.values()[place * outputs..][..outputs].iter().for_each(|value| writer.single(*value));
        writer.single(tree.covers()[place]);
    }
}

/// A tree with this many outputs per node.
pub(crate) fn read_tree(reader: &mut Reader<'_>, columns: usize, outputs: usize) -> Result<Tree, Damage> {
    let count = reader.count(9)?;
    let mut nodes = Vec::with_capacity(count);
    let mut values = Vec::with_capacity(count);
    let mut covers = Vec::with_capacity(count);
    for _ in 0..count {
        let left = reader.small()?;
        if left == 0 {
            nodes.push(Node::LEAF);
        } else {
            let feature = reader.small()?;
            let threshold = reader.single()?;
            nodes.push(Node { feature: feature >> 1, threshold, left, missing_left: feature & 1 == 1 });
        }
        for _ in 0..outputs {
            values.push(reader.finite()?);
        }
        covers.push(reader.finite()?);
    }
    Tree::from_nodes(columns, nodes, covers, values).map_err(|_| "a tree is inconsistent")
}

pub(crate) fn familiarity_number(familiarity: Familiarity) -> u8 {
    match familiarity {
        Familiarity::NewProject => 0,
        Familiarity::KnownProject => 1,
        Familiarity::KnownClass => 2,
    }
}

pub(crate) fn read_familiarity(reader: &mut Reader<'_>) -> Result<Familiarity, Damage> {
    match reader.byte()? {
        0 => Ok(Familiarity::NewProject),
        1 => Ok(Familiarity::KnownProject),
        2 => Ok(Familiarity::KnownClass),
        _ => Err("an expert has an unknown familiarity"),
    }
}
