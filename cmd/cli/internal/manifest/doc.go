// Package manifest is the catalog as files: it reads and writes YAML documents of projects, inventories, sources,
// templates, schedules and triggers, converts them to objects of the API and back, and compares them. It sends no
// requests.
package manifest
