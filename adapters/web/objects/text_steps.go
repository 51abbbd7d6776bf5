package objects

// The texts of the editor of a workflow's steps. What depends on the steps is worded by its script.
const (
	noListText = "the steps are not a list: each begins with a dash"
	noStepText = "a step is not an object with members such as name"
	noNameText = "a step has no name"

	stepsHelp = "A list of steps: name, tool, command or playbook, depends_on and others. " +
		"If no step names depends_on, they run in their order."

	stepTemplateHelp = "A template that the step launches. It brings its own settings."
	wholeText        = "That of the workflow"

	onLabel       = "It starts"
	onSuccessText = "if each step before it succeeded"
	onFailureText = "if one before it failed"
	onAlwaysText  = "whatever the end of those before it"

	toolsText   = "Change the steps"
	addText     = "Add after"
	beforeText  = "Add before"
	linkText    = "Link"
	renameText  = "Rename"
	removeText  = "Remove"
	undoText    = "Undo"
	viewsText   = "View of the steps"
	graphText   = "Graph"
	listText    = "List"
	treeText    = "Steps. Right goes to what runs after this step, left to what runs before it."
	listLabel   = "Steps in their order"
	afterText   = "Runs after"
	otherText   = "Other members, such as answers and tags, are in the text."
	diffText    = "Changes that are not saved"
	discardText = "Discard them"
)
