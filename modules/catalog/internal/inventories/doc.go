// Package inventories stores inventories and lists their hosts. Boundary: it owns the stored record with its rights and
// its cache. Package inventory parses contents and package pattern selects hosts; both work without a store.
package inventories
