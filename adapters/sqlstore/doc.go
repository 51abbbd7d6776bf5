// Package sqlstore provides every store port from SQL. Each context has its folder; the schema is in migrations, once
// for each engine.
package sqlstore
