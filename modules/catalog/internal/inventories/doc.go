// Package inventories keeps inventories, and shows what is in them without reading them for every page.
package inventories
