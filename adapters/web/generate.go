package web

// The generator has a module file of its own, since nothing else needs what it depends on.
//go:generate go tool -modfile=templ.mod templ generate -log-level error
//go:generate go tool -modfile=templ.mod templ generate -log-level error -path ../../modules/audit/internal/report
