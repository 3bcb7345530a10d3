"""Common English words: the tiny model reads and writes each of them, with the space before it, as one token."""

from __future__ import annotations

WORDS: tuple[str, ...] = tuple(
    """
    a able about above across act action add after again against age ago agree air all allow almost alone along already also although
    always among amount an and angle animal another answer any anyone anything appear apple april are area arm army around arrive art as
    ask at august aunt author autumn available avoid away baby back bad bag ball band bank bar base basic basket be bear beat beautiful
    beauty became because become bed been before began begin behind being believe bell below bench beside best better between beyond big
    bird birth black blood blue board boat body book border born both bottle bottom box boy branch bread break bridge bright bring broad
    broken brother brought brown brush build building built burn bus business but butter button buy by cake call calm came camp can
    capital captain car card care careful carry case cat catch cause cell center central century certain chain chair chance change
    chapter character charge check chief child children choice choose church circle city class clean clear climb clock close cloth cloud
    coast coat code coffee cold collect college color column come common company compare complete condition consider contain continue
    control cook cool copper copy corn corner correct cost cotton could count country couple course court cover cow create crop cross
    crowd cry culture cup current cut daily dance dark data date daughter day dead deal dear death december decide deep degree demand
    depend describe desert design desk detail develop did die difference different difficult dinner direct direction discover distance
    divide do doctor does dog dollar done door double doubt down draw dream dress drink drive drop dry during dust duty each ear early
    earth ease east easy eat edge education effect effort egg eight either electric else empty end enemy energy engine enjoy enough
    enter entire equal escape even evening event ever every exact example except excite exercise expect experience explain express eye
    face fact factory fair fall false family famous far farm fast father favor fear february feed feel feet felt few field fifteen fifth
    fight figure file fill final find fine finger finish fire firm first fish fit five flat floor flow flower fly fold follow food foot
    for force foreign forest forget form forty forward found four free fresh friday friend from front fruit full fun future game garden
    gas gate gather gave general gentle get girl give glad glass go goal gold gone good govern grain grand grass gray great green ground
    group grow guard guess guide had hair half hall hand happen happy hard has hat have he head health hear heart heat heavy held help
    her here high hill him his history hold hole home honest hope horse hospital hot hour house how however human hundred hunt hurry ice
    idea if imagine important in inch include increase indeed industry insect inside instead interest into invent iron is island it item
    its january job join joy judge july jump june just keep kept key kind king kitchen knee knew know lady lake lamp land language large
    last late laugh law lay lead leader leaf learn least leather leave left leg length less lesson let letter level library lie life
    lift light like limit line lion lip list listen little live local long look lose lost lot loud love low lucky lunch machine made
    magic mail main major make man manner many map march mark market master match material matter may maybe me mean measure meat
    medicine meet member memory men mention metal method middle might mile milk million mind mine minute mirror miss mistake mix model
    modern moment monday money month moon more morning most mother motion mountain mouse mouth move much music must my name narrow
    nation nature near neck need neighbor never new news next nice night nine no noise none noon nor north nose not note nothing notice
    november now number object ocean october of off offer office often oil old on once one only open opinion or orange order ordinary
    other our out outside over own page paint pair paper parent park part party pass past path pay peace pen pencil people perfect
    perhaps period person phone photo phrase piano pick picture piece pink place plain plan plane plant plate play please plenty pocket
    poem point police poor popular position possible pot potato pound power practice prepare present president press pretty price print
    prize problem process produce promise proper protect proud prove public pull pupil pure purple push put quality quarter queen
    question quick quiet quite race radio rain raise ran range rate rather reach read ready real reason receive record red region remain
    remember repeat reply report rest result return rice rich ride right ring rise river road rock roll roof room root rope rose round
    row rule run sad safe said sail salt same sand saturday save saw say scale school science score sea season seat second secret
    section see seed seem seen self sell send sense sentence separate september serious serve service set settle seven several shade
    shake shall shape share sharp she sheep sheet shine ship shirt shoe shop shore short should shoulder shout show side sight sign
    silent silver similar simple since sing single sister sit six size skill skin sky sleep slow small smell smile smoke smooth snow so
    social soft soil soldier solid solve some son song soon sort sound soup south space speak special speech speed spell spend spirit
    split spoke sport spot spread spring square stage stand star start state station stay steel step stick still stone stood stop store
    storm story straight strange stream street strike string strong student study subject such sudden sugar suit summer sun sunday
    supper supply support suppose sure surface surprise sweet swim system table tail take talk tall tape taste tea teach teacher team
    tell ten term test text than thank that the their them then theory there these they thick thin thing think third thirty this those
    though thought thousand thread three through throw thursday thus ticket tie time tiny tired title to today together told tomorrow
    tone too took tool tooth top total touch toward town trade train travel tree triangle trip trouble true trust truth try tuesday turn
    twelve twenty two type uncle under understand unit until up upon us use usual valley value various very view village visit voice
    vowel wait walk wall want war warm was wash waste watch water wave way we wear weather wednesday week weight well went were west wet
    what wheel when where whether which while white who whole whose why wide wife wild will win wind window wing winter wire wise wish
    with within without woman women wonder wood wool word work world worry worth would write wrong year yellow yes yesterday yet you
    young your zero
    """.split()  # noqa: SIM905 - a page of words reads better than a list of quoted ones
)
