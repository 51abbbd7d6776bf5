// Package catalog is the REST surface of what people launch: projects, inventories and their sources, and templates,
// with the launch of one. No answer holds a secret: header values of sources read back empty, variables whose name
// looks secret as [redacted], and notifications as their port masks them.
package catalog
