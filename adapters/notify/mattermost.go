package notify

// mattermostBody is a message that is one attachment. Its texts are markdown.
func mattermostBody(r report) object {
	return object{"attachments": []object{{
		"color": r.tone.colour(), "fallback": truncate(r.title, 2*maxSentence, escapeMentions),
		"text":   "**" + truncate(r.title, 2*maxSentence, forMattermost) + "**",
		"fields": fields(r, forMattermost),
	}}}
}
