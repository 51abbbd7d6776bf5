package audit

// OfRun exports the query for a run's entries.
const OfRun = ofRun
