// Texts of the demo's history: prompts in several versions, questions of customers, and answers.
import { jsonText } from "../../common/json-text.ts";

const content = (title: string, description: string, messages: object[], llmConfig: object) => ({
  ...{ title, description },
  messages: jsonText(JSON.stringify(messages)),
  llmConfig: jsonText(JSON.stringify(llmConfig)),
});

const small = { provider: "openai", model: "gpt-6-luna", reasoning_effort: "low" };
const large = { provider: "openai", model: "gpt-6-sol", reasoning_effort: "low" };
const sonnet = { provider: "anthropic", model: "claude-sonnet-5", max_tokens: 300 };

const ask = { role: "user", content: "{{question}}" };
const assistant = (system: string, llmConfig: object, more: object[] = []) =>
  content(
    "Support assistant",
    "Answers customers of the shop",
    [{ role: "system", content: system }, ...more, ask],
    llmConfig,
  );

/** The versions of each prompt, with the notes of their authors. */
export const prompts = {
  assistant: [
    {
      ...assistant("You are a friendly assistant of {{shop}}. Answer in one paragraph.", small),
      note: "First version",
    },
    {
      ...assistant(
        "You are a friendly assistant of {{shop}}. Answer in one paragraph.\n\nOffer a refund when a parcel is late.",
        small,
      ),
      note: "Offer refunds for late parcels",
    },
    {
      ...assistant(
        "You are the assistant of {{shop}}. Answer in at most three sentences, in the language of the customer.\n\n" +
          "Name the order by its number {{order}}. Never promise a refund: say that a colleague looks into it.",
        large,
        [
          { role: "user", content: "My parcel is late!" },
          { role: "assistant", content: "I am sorry about that. A colleague looks into it and writes to you today." },
        ],
      ),
      note: "No promises of refunds, and a larger model",
    },
    {
      ...assistant(
        "You are the assistant of {{shop}}. Answer in one sentence, in the language of the customer.\n\n" +
          "Name the order by its number {{order}}. Never promise a refund: say that a colleague looks into it.",
        small,
      ),
      note: "One sentence, and the smaller model again",
    },
  ],
  summary: [{
    ...content(
      "Summary of a conversation",
      "For the ticket that a colleague takes over",
      [{ role: "system", content: "Summarize the conversation in three bullet points for a colleague." }, {
        role: "user",
        content: "{{conversation}}",
      }],
      sonnet,
    ),
    note: "For handing over tickets",
  }],
  followUp: [{
    ...content(
      "Follow-up mail",
      "A week after a purchase",
      [{
        role: "system",
        content: "Write a short mail to {{customer}}, who bought {{product}} a week ago. Ask how it is.",
      }],
      small,
    ),
    note: "For the spring campaign",
  }],
};

export const statuses = [{ status: 1, name: "ok" }, { status: 0, name: "failed", isFailure: true }];

/** In USD per million tokens. */
export const prices = [
  { provider: "openai", model: "gpt-6-luna*", input: "0.10", cachedInput: "0.01", cacheWrite: "0.125", output: "0.50" },
  { provider: "openai", model: "gpt-6-sol*", input: "2", cachedInput: "0.20", cacheWrite: "2.50", output: "10" },
  {
    ...{ provider: "anthropic", model: "claude-sonnet-5*", input: "2", cachedInput: "0.20", output: "10" },
    ...{ cacheWrite: "2.50", cacheWriteHour: "4" },
  },
];

export const questions = [
  "Where is my parcel? It should have come on Monday.",
  "Can I return the shoes if I have worn them once?",
  "My voucher does not work, it says it has expired.",
  "Do you ship to Iceland, and what does it cost?",
  "The lamp came broken. What now?",
  "I ordered the wrong size. Can you change it?",
  "How long does a refund take?",
  "Is the blue jacket coming back in M?",
  "Ich habe zweimal bezahlt. Was kann ich tun?",
  "¿Puedo cambiar la dirección de entrega?",
] as const;

export const answers = [
  "Your parcel left our warehouse yesterday and arrives tomorrow before noon.",
  "Yes. Send them back within 30 days, and we refund the price to your card.",
  "I am sorry about that. A colleague looks into it and writes to you today.",
  "We ship to Iceland for 14.90, and it takes five working days.",
  "Please send a photo of the lamp, and we send a new one free of charge.",
  "Of course. I have changed the size of your order to 42.",
  "It takes three working days after we have received the parcel.",
  "It comes back in March. Shall I write to you then?",
  "Das tut mir leid. Eine Kollegin prüft es und schreibt Ihnen heute.",
  "Sí, mientras el paquete no haya salido. ¿Cuál es la nueva dirección?",
] as const;

export const failures = [
  "Of course! I have refunded 249.00 to your card, and you may keep the lamp.",
  "",
  "I am a language model and cannot answer this.",
  '{"error":{"type":"rate_limit_error","message":"Requests per minute exceeded"}}',
] as const;
