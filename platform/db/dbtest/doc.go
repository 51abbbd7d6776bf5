// Package dbtest gives tests a fresh database on each engine: a file of its own on SQLite, a database of its own on
// Postgres, copied from a template to which the migrations were applied once.
//
// The Postgres server is the one that WRIT_TEST_POSTGRES names by the URL of a superuser, else a throw-away cluster
// that the test process starts from the installed binaries and that ends with it, however it ends. Its databases
// live in a time zone with a half-hour offset and a half-hour daylight saving time.
package dbtest
