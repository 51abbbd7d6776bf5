package launch

// The texts of drafts.
const (
	draftTitle  = "Draft with AI"
	draftLabel  = "What the script should do"
	draftHelp   = "A language model gets this text and the tool. Say which files, services and limits matter."
	draftButton = "Draft a script"
	draftMark   = "A draft of a language model, which nobody has run. It can be wrong: read all of it before you run " +
		"it. A script that was there before is never replaced; the draft is beside it."
	draftFull = "A text is kept beside the script: swap or discard it first."
	swapText  = "Swap with the script"
	dropText  = "Discard"
)
