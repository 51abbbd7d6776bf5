// Package source keeps inventory sources. They carry no grants: their inventories decide who may do what with them.
package source
