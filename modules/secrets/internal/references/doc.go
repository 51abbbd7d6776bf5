// Package references checks whether credentials can be used, alone and together.
package references
