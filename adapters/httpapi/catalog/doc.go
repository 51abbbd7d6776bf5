// Package catalog is the REST API for projects, inventories and their sources, and templates with their launch. No
// response contains a secret: header values of sources and variables with secret-looking names are masked, and so are
// the notifications that the port returns.
package catalog
