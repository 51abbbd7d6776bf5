package audit

// OfRun exports the query for a run's entries.
const OfRun = ofRun

// HashesOf exports the query for the hashes of a run's entries.
const HashesOf = hashesOf
