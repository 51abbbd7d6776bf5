package arch

// Promise is a threat or a fault that Writ promises to withstand.
//
// Exactly one of three things holds for it: a test keeps it, its feature is planned, or its feature is pending.
type Promise struct {
	ID string
	// Text is the threat or the fault in a few words.
	Text string
	// Planned is the feature that brings the promise, while nobody builds it.
	Planned string
	// Pending is the feature that brings the promise, while it is being built.
	Pending string
}

// Promises lists the threats, then the faults, by their ids.
func Promises() []Promise { return append(threats(), faults()...) }

func threats() []Promise {
	return []Promise{
		{ID: "T01", Text: "a worker writes to a run that is not its own"},
		{ID: "T02", Text: "a worker invents facts of hosts that its run never reached"},
		{ID: "T03", Text: "a worker reads secrets of other runs"},
		{ID: "T04", Text: "a worker reports wrong counts, repeats and reorders reports"},
		{ID: "T05", Text: "forged and replayed deliveries to a hook"},
		{ID: "T06", Text: "a push whose reference, commit or path is an attack"},
		{ID: "T07", Text: "output that imitates events or controls a terminal"},
		{ID: "T08", Text: "a run leaves processes behind and reads files of the server"},
		{ID: "T09", Text: "a hostile plugin"},
		{ID: "T10", Text: "a caller does more than the role and the grants allow"},
		{ID: "T11", Text: "an address makes the server call an internal service"},
		{ID: "T12", Text: "an imported archive that unpacks to too much, or outside of its place"},
		{ID: "T13", Text: "XML with external or exploding entities"},
		{ID: "T14", Text: "addresses, references and repositories that attack git"},
		{ID: "T15", Text: "the path of a project's file leads out of the checkout"},
		{ID: "T16", Text: "a control of a run becomes an option or a file of the tool"},
		{ID: "T17", Text: "template code in values of a launch"},
		{ID: "T18", Text: "expensive patterns in surveys"},
		{ID: "T19", Text: "markup in pages and reports"},
		{ID: "T20", Text: "formulas in CSV, line breaks in headers and file names"},
		{ID: "T21", Text: "secrets in output, events, errors, command lines, logs or answers"},
		{ID: "T22", Text: "stored secrets are stolen, altered or exchanged"},
		{ID: "T23", Text: "stream tickets that leaked"},
		{ID: "T24", Text: "tokens are guessed by time"},
		{ID: "T25", Text: "passwords are guessed"},
		{ID: "T26", Text: "fixed sessions and requests of other sites"},
		{ID: "T27", Text: "pages in frames, guessed media types"},
		{ID: "T28", Text: "a hostile OpenID provider or answer"},
		{ID: "T29", Text: "forged, wrapped and replayed SAML assertions"},
		{ID: "T30", Text: "SQL in parameters"},
		{ID: "T31", Text: "links that are exchanged while the server uses them"},
		{ID: "T32", Text: "connections, streams and requests beyond measure"},
		{ID: "T33", Text: "compressed bodies that unpack to too much"},
		{ID: "T34", Text: "instructions to a language model in the data of runs"},
		{ID: "T35", Text: "an approval is avoided, or the held run is changed"},
		{ID: "T36", Text: "the audit trail is edited, forked or rolled back"},
		{ID: "T37", Text: "a binary that was not built from its source"},
		{ID: "T38", Text: "an open install is reached from outside"},
		{ID: "T39", Text: "debug pages, and text of users in metrics"},
		{ID: "T40", Text: "forged forwarding headers"},
		{ID: "T41", Text: "a value of a launch steers the tool"},
		{ID: "T42", Text: "a remote inventory contains code"},
		{ID: "T43", Text: "a control node executes foreign programs"},
		{ID: "T44", Text: "a run attacks its server"},
		{ID: "T45", Text: "a process outlives its run"},
		{ID: "T46", Text: "a token begets a longer or mightier one"},
		{ID: "T47", Text: "a worker token serves every queue and takes other names"},
		{ID: "T48", Text: "a push is repeated under another delivery id"},
		{ID: "T49", Text: "who manages a template gets its credentials"},
		{ID: "T50", Text: "a forged time stamp or cosignature is believed"},
		{ID: "T51", Text: "a dash, an option or a control byte in a field that reaches a program"},
		{ID: "T52", Text: "applying or copying an object borrows what the caller may not use"},
		{ID: "T53", Text: "filters, order and search disclose hidden columns and objects"},
		{ID: "T54", Text: "an error repeats a secret"},
		{ID: "T55", Text: "a hook discloses that it exists, its secret or its path"},
		{ID: "T56", Text: "an environment variable steers a loader"},
		{ID: "T57", Text: "unknown or server-owned members in a body"},
		{ID: "T58", Text: "output and names become markup", Planned: "web interface"},
		{ID: "T59", Text: "another spelling of a path avoids the check"},
		{ID: "T60", Text: "the server's own identity goes to a changed address"},
		{ID: "T61", Text: "an action on a run in a state that does not allow it"},
	}
}

func faults() []Promise {
	return []Promise{
		{ID: "F01", Text: "the server is killed before a submission is committed"},
		{ID: "F02", Text: "the server is killed after the commit and before the answer"},
		{ID: "F03", Text: "an executor is killed between claim and start"},
		{ID: "F04", Text: "an executor is killed while a tool runs"},
		{ID: "F05", Text: "an executor is killed between the tool's exit and the stored end"},
		{ID: "F06", Text: "an executor is killed while it stores the end"},
		{ID: "F07", Text: "a plugin is killed"},
		{ID: "F08", Text: "Postgres restarts under load"},
		{ID: "F09", Text: "Postgres fails over to a standby"},
		{ID: "F10", Text: "the answer to a COMMIT is lost"},
		{ID: "F11", Text: "the disk of the database is full"},
		{ID: "F12", Text: "fsync fails"},
		{ID: "F13", Text: "the disk of an executor is full"},
		{ID: "F14", Text: "the wall clock is set"},
		{ID: "F15", Text: "an hour is skipped or repeated"},
		{ID: "F16", Text: "several executors claim the same run"},
		{ID: "F17", Text: "a frozen executor returns after its lease"},
		{ID: "F18", Text: "the connection of a worker breaks, one way or both"},
		{ID: "F19", Text: "a slow network"},
		{ID: "F20", Text: "a slow reader of a stream"},
		{ID: "F21", Text: "a flood of events"},
		{ID: "F22", Text: "a huge log, a huge line"},
		{ID: "F23", Text: "an export breaks off"},
		{ID: "F24", Text: "several servers fire one schedule"},
		{ID: "F25", Text: "no server runs when a schedule is due"},
		{ID: "F26", Text: "a migration is killed or fails"},
		{ID: "F27", Text: "a migration is undone", Planned: "releases"},
		{ID: "F28", Text: "two versions run together", Planned: "releases"},
		{ID: "F29", Text: "a cancel meets the end of the run"},
		{ID: "F30", Text: "timeout, cancel and loss of the lease at once"},
		{ID: "F31", Text: "SIGTERM, and a second one"},
		{ID: "F32", Text: "the server of a pipeline is killed between steps"},
		{ID: "F33", Text: "the server of a split is killed"},
		{ID: "F34", Text: "a notification's target is down, hangs or floods"},
		{ID: "F35", Text: "the kernel ends a tool or the server for its memory"},
		{ID: "F36", Text: "an older copy of the database is restored"},
		{ID: "F37", Text: "the writer of the audit trail hangs or dies"},
		{ID: "F38", Text: "file descriptors or processes run out"},
	}
}
