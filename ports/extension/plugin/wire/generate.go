package wire

// The generators have a module file of their own, since nothing else needs what they depend on.
//go:generate ./generate.sh
