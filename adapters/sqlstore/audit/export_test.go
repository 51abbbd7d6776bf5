package audit

// OfRun is the search for a run's entries.
const OfRun = ofRun
