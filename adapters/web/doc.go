// Package web is the web interface under /ui/: pages that the server renders, for people.
//
// It is a driving adapter beside httpapi: pages read the same driving ports as the API's routes, and forms are
// operations of the API that are called in this process, so that a page can do nothing that /v1 cannot do. The package
// shell has the frame of every page, the request's caller, forms and the shared components. Each section of the
// navigation has a package of its own. See docs/guides/add-a-page.md.
package web
