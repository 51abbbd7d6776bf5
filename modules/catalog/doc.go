// Package catalog is the behaviour of what people launch.
package catalog
