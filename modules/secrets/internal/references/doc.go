// Package references says whether credentials can be used, alone and together.
package references
