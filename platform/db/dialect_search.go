package db

import "strings"

// A search table holds the words of records: on SQLite a contentless FTS5 table with the one column words, keyed by
// its rowid, on Postgres a table of run_seq and a tsvector words. Words are sequences of letters and digits in lower
// case, which the caller makes. No parser of an engine is used, so that both engines find the same records.

// SearchKey returns the column that holds the record's key in a search table.
func (d Dialect) SearchKey() string {
	if d.engine == Postgres {
		return "run_seq"
	}
	return "rowid"
}

// SearchPut returns the statement that replaces the words of a record.
func (d Dialect) SearchPut(table string, key int64, terms []string) (query string, args []any) {
	if d.engine == Postgres {
		return "INSERT INTO " + table + " (run_seq, words) VALUES (?, array_to_tsvector(string_to_array(?, ' ')))" +
			" ON CONFLICT (run_seq) DO UPDATE SET words = excluded.words", []any{key, strings.Join(terms, " ")}
	}
	return "INSERT OR REPLACE INTO " + table + " (rowid, words) VALUES (?, ?)", []any{key, strings.Join(terms, " ")}
}

// SearchMatch returns the condition that every prefix begins a word of the record. The table must be named in the
// query without an alias. There must be at least one prefix.
func (d Dialect) SearchMatch(table string, prefixes []string) (condition string, args []any) {
	parts := make([]string, len(prefixes))
	if d.engine == Postgres {
		for i, p := range prefixes {
			parts[i] = "'" + p + "':*"
		}
		return table + ".words @@ CAST(? AS tsquery)", []any{strings.Join(parts, " & ")}
	}
	for i, p := range prefixes {
		parts[i] = `"` + p + `"*`
	}
	return table + " MATCH ?", []any{strings.Join(parts, " AND ")}
}
