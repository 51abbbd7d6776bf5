// Package importer plans and applies imports of the definitions of other products.
package importer
