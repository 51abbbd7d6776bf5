// Package catalog implements projects, inventories, inventory sources and templates.
package catalog
