//! How good prediction is, measured on public data by the papers' protocols.
