// Package docs holds the pages for people that the binary serves.
package docs

import "embed"

// Pages are the guides and the reference, below "guides/" and "reference/".
//
//go:embed guides/*.md reference/*.md
var Pages embed.FS
