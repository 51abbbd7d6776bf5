// Package catalog is the contract of what people launch: projects, inventories and their sources, and templates with
// their surveys.
package catalog
