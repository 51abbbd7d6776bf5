// Package importers contains the formats of exports, a package each, and what they share: draft collects objects, fleet
// makes an inventory of hosts, document reads JSON, YAML and XML, archive reads zip files, and crontime computes the
// times of cron expressions.
package importers
