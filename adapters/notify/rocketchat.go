package notify

// rocketChatBody is a message with one attachment.
func rocketChatBody(r report) object {
	title := truncate(r.title, 2*maxSentence, forRocketChat)
	return object{
		"text": title,
		"attachments": []object{{
			"color": r.tone.colour(), "fields": fields(r, forRocketChat),
		}},
	}
}
