// Package importer serves imports over HTTP.
package importer
