// Package inforce keeps the policies that are in force, and voids units that were evaluated by others.
package inforce
