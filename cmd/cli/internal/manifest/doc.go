// Package manifest is the catalog as files: it reads and writes YAML documents of projects, inventories, sources,
// templates, schedules and triggers, turns them into the objects of the API and back, and tells what differs. It
// speaks to no server.
package manifest
