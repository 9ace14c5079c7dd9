//! Tests to vectors to risk, with reasons.
