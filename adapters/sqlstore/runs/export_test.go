package runs

// Columns are those of a run that Insert writes.
const Columns = insertColumns
