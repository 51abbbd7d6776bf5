// Package estate serves hosts, facts, changes and drift over HTTP.
package estate
