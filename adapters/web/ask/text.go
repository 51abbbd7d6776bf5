package ask

// The texts of the page.
const (
	title         = "Ask"
	intro         = "A language model answers. It reads only what you may read, and the trail has each call."
	askTitle      = "Ask about the fleet"
	questionLabel = "Question"
	questionHelp  = "About runs, the health of hosts and drift. An account may ask ten questions a minute."
	askText       = "Ask"
	proposeTitle  = "Propose a run"
	requestLabel  = "Request"
	requestHelp   = "What the run should do, in your words. It is held until somebody approves it."
	proposeText   = "Propose"
	proposedText  = "A run was proposed. It is held: read it before you approve it."
	readOnlyText  = "This install is read-only."
	proposeHint   = "The model turns the request into a run, which is checked like every request of yours. This may " +
		"take up to two minutes."
)
