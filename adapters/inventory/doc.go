// Package inventory fetches the inventories of inventory sources: a document at a URL, a file of a checkout, or the
// output of ansible-inventory for a script or a plugin.
package inventory
