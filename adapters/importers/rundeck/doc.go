// Package rundeck reads the jobs of Rundeck: definitions in XML, YAML and JSON, and archives of projects.
//
// A job of one step becomes a template, and a job of several steps a workflow whose steps depend on each other as the
// strategy says. Steps on the nodes of a filter become scripts that reach the hosts with the program ansible: scripts
// of the server run on its executor alone. A step that cannot be translated becomes one that fails with a message, so
// that no step after it runs. Options are questions, and the texts of steps refer to them by the variables of the
// environment.
package rundeck
