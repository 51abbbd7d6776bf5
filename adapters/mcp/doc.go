// Package mcp lets agents read runs, hosts and templates, and launch templates, over the Model Context Protocol. Each
// tool sends requests to operations of the API, with the credentials of the agent's user: the API decides, validates
// and records as for any other client. Nothing here knows a module.
package mcp
