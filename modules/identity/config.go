package identity

// Config of the context.
type Config struct {
	// Open makes every caller the admin account. The surfaces must then answer loopback callers alone.
	Open bool
}
